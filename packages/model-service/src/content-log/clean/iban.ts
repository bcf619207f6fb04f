/**
 * How long an IBAN of each country is.
 *
 * @see https://www.swift.com/standards/data-standards/iban-international-bank-account-number
 */
const LENGTHS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    15: 'NO',
    16: 'BE',
    18: 'DK FI FO GL NL SD FK',
    19: 'MK SI',
    20: 'AT BA EE KZ LT LU XK MN',
    21: 'CH CR HR LI LV',
    22: 'BG BH DE GB GE IE ME RS VA',
    23: 'AE GI IL IQ OM SO TL',
    24: 'AD CZ ES MD PK RO SA SE SK TN VG',
    25: 'LY PT ST',
    26: 'IS TR',
    27: 'BI DJ FR GR IT MC MR SM',
    28: 'AL AZ BY CY DO GT HU LB NI PL SV',
    29: 'BR EG PS QA UA',
    30: 'JO KW MU YE',
    31: 'MT SC',
    32: 'LC',
    33: 'RU',
  }).flatMap(([length, countries]) =>
    countries.split(' ').map((country) => [country, Number(length)] as const),
  ),
);

const IBAN_START = /(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?=[ \u00a0-]?[A-Z0-9])/g;
const SEPARATORS = ' \u00a0-';
const IBAN_CHARACTER = /[A-Z0-9]/;

/** Where the IBANs of a text begin and end: those whose length and checksum are right. */
export function* ibansIn(text: string): Generator<readonly [number, number]> {
  IBAN_START.lastIndex = 0;
  for (const { index } of text.matchAll(IBAN_START)) {
    const length = LENGTHS.get(text.slice(index, index + 2));
    const end = length === undefined ? null : endOfIban(text, index, length);
    if (end !== null) yield [index, end];
  }
}

function endOfIban(text: string, start: number, length: number): number | null {
  let compact = '';
  let at = start;
  for (; compact.length < length; at += 1) {
    const character = text[at] ?? '';
    if (IBAN_CHARACTER.test(character)) compact += character;
    // Groups have one separator between them.
    else if (!SEPARATORS.includes(character) || character === '' || SEPARATORS.includes(text[at - 1] ?? ''))
      return null;
  }
  const isLonger = /[A-Za-z0-9]/.test(text[at] ?? '');
  return isLonger || !hasChecksum(compact) ? null : at;
}

/** ISO 7064, modulo 97. */
function hasChecksum(iban: string): boolean {
  let rest = 0;
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}
