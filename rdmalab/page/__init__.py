"""The app in a web page: Textual's terminal is xterm.js, its process is a Web Worker."""
