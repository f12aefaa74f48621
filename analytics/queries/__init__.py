"""Named queries: every page, report, command, CSV and API answer takes its numbers from here and nowhere else.

All take a cursor, a Viewer, a Window where time matters, and a Filter; they return frozen Structs with unrounded values
in the units their names end in. None means unknown. What a viewer may not see is not counted either.
"""
