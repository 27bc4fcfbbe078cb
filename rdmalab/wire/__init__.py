"""Wire formats: packet values (`packet`), header declarations (`headers`), encoding (`roce`)."""
