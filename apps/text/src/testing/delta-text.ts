const DELTA = /"(?:delta|content|text)":("(?:[^"\\]|\\.)*")/g;

/** All text deltas of a stream of any text protocol, joined; whole texts that come after them too. */
export const deltaText = (sse: string): string =>
  [...sse.matchAll(DELTA)].map(([, text]) => JSON.parse(text ?? '""')).join('');
