import { isIPv6 } from 'node:net';
import type { Redaction } from '@gateway/contracts/content-log';
import { ibansIn } from './iban.ts';

/** Where something begins and ends in a text. */
export type Span = readonly [start: number, end: number];

/** Finds what it is named after, in the order of the text and without overlaps. Takes time in proportion to the text. */
export type FindSpans = (text: string) => Iterable<Span>;

/**
 * By regular expressions whose repetitions are bounded, or which can only begin where a word begins, so that no text makes
 * them slow.
 */
const matching =
  (patterns: readonly RegExp[], isMeant: (found: string) => boolean = () => true): FindSpans =>
  (text) =>
    patterns.flatMap((pattern) =>
      [...text.matchAll(pattern)].flatMap(({ 0: found, index }): Span[] =>
        isMeant(found) ? [[index, index + found.length]] : [],
      ),
    );

const EMAIL =
  /(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9-])/g;

const INTERNATIONAL_PHONE = /(?<![\w.+-])(?:\+|00)[1-9](?:[ ./()-]{0,2}\d){6,14}(?!\d)/g;
const AMERICAN_PHONE = /(?<![\w.+-])(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])/g;
const NATIONAL_PHONE = /(?<![\w.,+/-])0[1-9]\d{1,4}[ /-]{1,3}\d{3,5}(?:[ -]?\d{2,5}){0,3}(?![\w-])/g;

const CARD = /(?<![\w.-])[2-6](?:[ -]?\d){12,18}(?!\w)/g;

/** Of payment cards: digits by their places from the right, every second one doubled. */
function hasLuhnSum(found: string): boolean {
  const digits = found.replaceAll(/\D/g, '');
  let sum = 0;
  for (let place = 0; place < digits.length; place += 1) {
    const digit = Number(digits[digits.length - 1 - place]);
    const counted = place % 2 === 0 ? digit : digit * 2;
    sum += counted > 9 ? counted - 9 : counted;
  }
  return sum % 10 === 0;
}

const BYTE = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IP_V4 = new RegExp(`(?<![\\w.])${BYTE}(?:\\.${BYTE}){3}(?![\\w]|\\.\\d)`, 'g');
const IP_V6 =
  /(?<![\w:.])(?=[0-9A-Fa-f:]{0,36}::|(?:[0-9A-Fa-f]{1,4}:){6,7})[0-9A-Fa-f:]{2,39}(?:\.\d{1,3}){0,3}(?![\w:])/g;

/** A name in a program, such as `a::b`, has the form of one too. */
const isAddress = (found: string): boolean => isIPv6(found) && (/\d/.test(found) || found.length >= 8);

const JWT = /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g;

/** How vendors begin their keys. The gateway's own are `gwk_`. */
const KEYS = [
  /(?<![\w-])(?:sk|rk|pk)[-_](?:ant-|proj-|svcacct-|admin-|or-v1-|live_|test_)?[A-Za-z0-9_-]{16,}/g,
  /(?<![\w-])(?:gwk|ghp|gho|ghu|ghs|ghr|github_pat|glpat|hf|gsk|xai|pplx|r8|npm|dop_v1|shpat|sbp|tvly|nvapi|fw|csk|whsec)[-_][A-Za-z0-9_-]{16,}/g,
  /(?<![\w-])xox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])/g,
  /(?<![\w-])AIza[\w-]{35}(?![\w-])/g,
  /(?<![\w-])ya29\.[\w-]{20,}/g,
  /(?<![\w])[Bb]earer [A-Za-z0-9._~+/-]{16,}=*/g,
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{1,16000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
];

export const BUILT_IN: Readonly<Record<Redaction, FindSpans>> = {
  'api-key': matching(KEYS),
  jwt: matching([JWT]),
  email: matching([EMAIL]),
  iban: ibansIn,
  card: matching([CARD], hasLuhnSum),
  ip: (text) => [...matching([IP_V4])(text), ...matching([IP_V6], isAddress)(text)],
  phone: matching([INTERNATIONAL_PHONE, AMERICAN_PHONE, NATIONAL_PHONE]),
};
