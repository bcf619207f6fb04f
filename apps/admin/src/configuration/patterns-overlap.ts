/** Whether some name fits both patterns; `*` matches any text, also an empty one. */
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
