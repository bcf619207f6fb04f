/** Names beyond this many, or beyond this many characters, are counted and not listed: a header has bounds. */
const [MAX_NAMES, MAX_LENGTH] = [40, 2000];

/** A member's name, which a caller may have chosen, as far as a person needs it and a header takes it. */
export const shownName = (name: string): string => name.replace(/[^\w.$-]/g, '?').slice(0, 64);

/** The value of `x-gateway-dropped`; empty where nothing was lost. */
export function droppedNames(members: Iterable<string>): string {
  const all = [...new Set(members)];
  const names: string[] = [];
  let length = 0;
  for (const name of all.slice(0, MAX_NAMES).map(shownName)) {
    length += name.length + 2;
    if (length > MAX_LENGTH) break;
    names.push(name);
  }
  const rest = all.length - names.length;
  return [...names, ...(rest > 0 ? [`+${rest}`] : [])].join(', ');
}
