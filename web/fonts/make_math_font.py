"""Makes math.woff2, the glyphs that the pages' formulas need, from STIX Math:

    apt-get install fonts-stix && pip install fonttools brotli && python3 web/fonts/make_math_font.py

Without a font that has a MATH table, browsers set subscripts on the baseline. The Open Font License
reserves the name STIX for the whole font, so the part has a name of its own.
"""

from pathlib import Path

from fontTools import subset, ttLib

SOURCE = "/usr/share/fonts/opentype/stix-word/STIXMath-Regular.otf"
NAME = "QKV Math"
# ASCII, Greek, primes, dots, arrows, operators, double bars, angle brackets, italic letters.
GLYPHS = ("20-7E,A0,B1,B7,D7,F7,391-3A9,3B1-3C9,2016,2026,2032,2061-2063,2190-2193,2202,2207,2208,2211,"
          "2212,221A,221E,2223,2225,2248,2260,2264,2265,22A4,22C5,22EF,27E8,27E9,1D434-1D467,210E,"
          "1D6E2-1D71B")

font = ttLib.TTFont(SOURCE)
options = subset.Options(layout_features=["*"], flavor="woff2", notdef_outline=True)
subsetter = subset.Subsetter(options)
subsetter.populate(unicodes=subset.parse_unicodes(GLYPHS))
subsetter.subset(font)
for record in list(font["name"].names):
    if record.nameID in (1, 4, 16):
        record.string = NAME
    elif record.nameID == 6:
        record.string = NAME.replace(" ", "")
    elif record.nameID not in (0, 13, 14):  # copyright and licence stay
        font["name"].removeNames(nameID=record.nameID)
font["CFF "].cff.fontNames = [NAME.replace(" ", "")]
font.flavor = "woff2"
font.save(Path(__file__).with_name("math.woff2"))
