# sbx:begin about
# The sandbox's image. Written for the classic builder and BuildKit alike; the
# build context is this folder. What stands between sbx:begin and sbx:end is the
# template's, and 'sbx-devc update' brings it up to date around your edits; what
# you write between two of these regions is yours alone.
# sbx:end about
