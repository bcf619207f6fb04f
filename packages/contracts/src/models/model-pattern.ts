/** Whether a name fits a pattern, in which each `*` matches any text, also an empty one. Takes linear time. */
export const fitsPattern = (pattern: string, name: string): boolean => {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first)) return false;
  let position = first.length;
  for (const piece of rest) {
    const found = name.indexOf(piece, position);
    if (found < 0) return false;
    position = found + piece.length;
  }
  return name.length - last.length >= position && name.endsWith(last);
};
