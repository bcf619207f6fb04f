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

/**
 * A name that fits a pattern with one `*`, in the form of another such pattern: `claude-opus-5` for `anthropic/claude-opus-5`
 * from `anthropic/*` to `*`. Without a `*` the other pattern is the name.
 */
export function renamed(name: string, from: string, to: string): string {
  const at = from.indexOf('*');
  const star = name.slice(at, name.length - (from.length - at - 1));
  return to.replace('*', () => star);
}

/** Whether a name can fit both patterns. */
export function patternsOverlap(one: string, other: string): boolean {
  // reachable[j]: what was read of `one` so far and the first j characters of `other` can match the same text.
  let reachable = prefixes(other);
  for (const character of one) {
    const next: boolean[] = [];
    for (let at = 0; at <= other.length; at += 1) {
      const before = at > 0 && (next[at - 1] ?? false);
      const matched = other[at - 1];
      if (character === '*') next.push((reachable[at] ?? false) || before);
      else if (matched === '*') next.push((reachable[at] ?? false) || before);
      else next.push(matched === character && (reachable[at - 1] ?? false));
    }
    reachable = next;
  }
  return reachable[other.length] ?? false;
}

/** For an empty first pattern: only stars may have been read of the other. */
const prefixes = (pattern: string): boolean[] =>
  Array.from({ length: pattern.length + 1 }, (_, length) => /^\**$/.test(pattern.slice(0, length)));
