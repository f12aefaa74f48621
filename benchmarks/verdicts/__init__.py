"""What is found on runs whose truth is known, beside what simpler rules of other tools would have said of them."""
