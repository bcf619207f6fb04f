import { createHash } from 'node:crypto';
import type { Quirks } from '@gateway/contracts/quirks';
import { isMeaningful } from '../neutral/encoding/refused-members.ts';
import { type Dropped, refuseParameter } from '../neutral/losses.ts';
import type { JsonObject } from '../wire/json-object.ts';
import { formatPath, type Path } from '../wire/path.ts';
import { isJsonObject } from '../wire/raw-json.ts';

/** What a channel refuses of its own protocol, as a platform that serves other makers' models does. */
export interface Fit {
  readonly refusedMembers: readonly string[];
  readonly renamedMembers: Readonly<Record<string, string>>;
  readonly plainUserIds: boolean;
  /** The names of which one at least is in a body that does not fit, in quotes. */
  readonly names: readonly string[];
}

/** Every element of an array. */
const EACH = '*';
/** How an escaped letter of a name begins. */
const ESCAPE = '\\u00';
/** The signs that `userIds: plain` allows. */
const PLAIN_ID = /^[\w.@ -]*$/;

const fits = new WeakMap<Quirks, Fit | null>();

/** Null: the channel takes its protocol as it is. Made once for each route's quirks. */
export function fitOf(quirks: Quirks): Fit | null {
  const known = fits.get(quirks);
  if (known !== undefined) return known;
  const fit = readFit(quirks);
  fits.set(quirks, fit);
  return fit;
}

function readFit({ refusedMembers, renamedMembers, userIds }: Quirks): Fit | null {
  const plainUserIds = userIds === 'plain';
  const paths = [...refusedMembers, ...Object.keys(renamedMembers), ...(plainUserIds ? ['user_id'] : [])];
  if (paths.length === 0) return null;
  const names = paths.map((path) => JSON.stringify(path.split('.').at(-1)));
  return { refusedMembers, renamedMembers, plainUserIds, names: [...new Set(names)] };
}

/** Whether a body may hold something that does not fit: it is then parsed. */
export const mayNotFit = (bytes: Buffer, { names }: Fit): boolean =>
  names.some((name) => bytes.includes(name)) || bytes.includes(ESCAPE);

/**
 * A body as its channel takes it, changed in place below its top. What is left out is in `dropped`.
 *
 * @throws {GatewayError} `unsupported_parameter` where the answer would be another one without a member
 */
export function fitBody(
  body: JsonObject,
  { refusedMembers, renamedMembers, plainUserIds }: Fit,
): { readonly body: JsonObject; readonly dropped: readonly Dropped[] } {
  const fitted = { ...body };
  const dropped: Dropped[] = [];
  for (const member of refusedMembers)
    eachAt(fitted, member, (holder, name, path) => {
      if (isMeaningful(path)) {
        refuseParameter(path, `'${formatPath(path)}' is not supported by the channel that would answer.`);
      }
      delete holder[name];
      dropped.push({ path, reason: 'refused by this upstream' });
    });
  for (const [member, renamed] of Object.entries(renamedMembers))
    eachAt(fitted, member, (holder, name) => {
      holder[renamed] = holder[name];
      delete holder[name];
    });
  if (plainUserIds)
    eachAt(fitted, 'metadata.user_id', (holder, name) => {
      const id = holder[name];
      if (typeof id === 'string' && !PLAIN_ID.test(id)) holder[name] = hashed(id);
    });
  return { body: fitted, dropped };
}

/** The same user has the same id, which says nothing else. */
const hashed = (id: string): string => createHash('sha256').update(id).digest('hex');

type Visit = (holder: { [member: string]: unknown }, name: string, path: Path) => void;

/** Calls for every member that a path such as `tools.*.strict` leads to. */
function eachAt(value: unknown, member: string, visit: Visit): void {
  walk(value, member.split('.'), [], visit);
}

function walk(value: unknown, [step, ...rest]: readonly string[], at: Path, visit: Visit): void {
  if (step === undefined) return;
  if (step === EACH) {
    if (Array.isArray(value))
      for (const [index, one] of value.entries()) walk(one, rest, [...at, index], visit);
    return;
  }
  if (!isJsonObject(value) || !Object.hasOwn(value, step)) return;
  if (rest.length > 0) walk(value[step], rest, [...at, step], visit);
  else visit(value, step, [...at, step]);
}
