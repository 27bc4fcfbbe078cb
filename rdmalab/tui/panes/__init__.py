"""One file a pane: which sentence it stands for, how its rows are drawn. Siblings are strangers."""
