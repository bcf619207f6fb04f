/** `a, b, c`, cut when there are very many. */
export const listed = (names: readonly string[]): string =>
  names.length > 40 ? `${names.slice(0, 40).join(', ')}, …` : names.join(', ');

/** Levenshtein distance, for names of ordinary length. */
const distance = (left: string, right: string): number => {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...left].entries()) {
    const current = [row + 1];
    for (let column = 0; column < right.length; column += 1) {
      const substituted = (previous[column] ?? 0) + (right[column] === letter ? 0 : 1);
      current.push(Math.min(substituted, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
};

/** ` (did you mean "x"?)` if one of the names is likely the intended one, else nothing. */
export const nearest = (wrong: string, names: readonly string[]): string => {
  if (wrong.length > 64) return '';
  const [best] = names
    .map((name) => ({ name, off: distance(wrong.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.off - b.off);
  return best && best.off <= Math.max(1, Math.floor(best.name.length / 3))
    ? ` (did you mean "${best.name}"?)`
    : '';
};
