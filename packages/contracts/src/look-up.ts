/** What a table says about a word that came from outside: only its own rows count, whatever the word is. */
export const lookUp = <Row>(
  table: { readonly [word: string]: Row },
  word: string | null | undefined,
): Row | undefined =>
  word !== null && word !== undefined && Object.hasOwn(table, word) ? table[word] : undefined;
