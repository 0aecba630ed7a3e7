"""Keys that source code builds, as fields of a request log: for `kvaudit keys --from-source`.

reference.py        one value that flows into a key: the names on the way to it, where it stands
python.py           the functions of a Python file that build a key
flow.py             what flows into an expression of Python
python_calls.py     what calls do with a value
ecmascript.py       the functions of a JavaScript or TypeScript file that build a key
ecmascript_flow.py  what flows into an expression there
fields.py           which fields of the record a value is
files.py            the files below a path

Nothing of the project is executed. What cannot be followed or is no field is told, not guessed.
"""
