/** Shades that can be told apart beside each other, on light and dark. */
export const COLORS = [
  'indigo.6',
  'teal.6',
  'orange.6',
  'grape.6',
  'cyan.6',
  'pink.6',
  'lime.7',
  'red.7',
  'yellow.7',
  'blue.4',
] as const;

const MAX_REMEMBERED = 1_000;

/** The colour that a model, a team or another value has had since it was first drawn: the same on every page. */
const remembered = new Map<string, string>();

/** A colour for each value of a chart, none of them twice while there are enough. */
export function colorsOf(values: readonly string[]): string[] {
  const taken = new Set<string>();
  const colors = new Map<string, string>();
  const give = (value: string, color: string): void => {
    taken.add(color);
    colors.set(value, color);
    if (!remembered.has(value) && remembered.size < MAX_REMEMBERED) remembered.set(value, color);
  };
  for (const value of values) {
    const color = remembered.get(value);
    if (color !== undefined && !taken.has(color)) give(value, color);
  }
  const used = [...remembered.values()];
  const uses = (color: string): number => used.filter((one) => one === color).length;
  for (const value of values) {
    if (colors.has(value)) continue;
    const free = COLORS.filter((color) => !taken.has(color)).toSorted((a, b) => uses(a) - uses(b));
    give(value, free[0] ?? COLORS[0]);
  }
  return values.map((value) => colors.get(value) ?? COLORS[0]);
}
