// Old syntax on purpose: it has to run in browsers that cannot run the lab.
(function () {
  function missing() {
    if (location.protocol === "file:") {
      return "This page was opened as a file, and a browser loads no programs from files. Serve the folder: python3 -m http.server --bind 127.0.0.1, then open http://127.0.0.1:8000/";
    }
    var found = [];
    if (typeof WebAssembly !== "object") found.push("WebAssembly");
    if (typeof Worker !== "function") found.push("workers");
    if (!("noModule" in document.createElement("script"))) found.push("JavaScript modules");
    if (typeof BigInt !== "function" || !Array.prototype.at || !(window.Map && Map.groupBy)) found.push("JavaScript of 2024");
    if (found.length === 0) return "";
    return "This browser cannot run the lab: it has no " + found.join(", no ") + ". A current Firefox, Chrome, Edge or Safari can.";
  }
  var text = missing();
  window.cannotRun = text;
  if (!text) return;
  document.addEventListener("DOMContentLoaded", function () {
    document.getElementById("title").textContent = "The lab cannot run here";
    document.getElementById("text").textContent = text;
    document.getElementById("progress").style.display = "none";
  });
})();
