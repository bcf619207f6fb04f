/** A table's value for a key from outside: only the table's own members count, for any key. */
export const lookUp = <Row>(
  table: { readonly [word: string]: Row },
  word: string | null | undefined,
): Row | undefined =>
  word !== null && word !== undefined && Object.hasOwn(table, word) ? table[word] : undefined;
