import { parseJson } from '@gateway/contracts/json/json-depth';
import { MemberScanner, type MemberSpan } from '../../wire/json-members.ts';
import type { JsonObject } from '../../wire/json-object.ts';

/** Smaller replies are parsed whole: that is as fast. */
export const MIN_PARTIAL_BYTES = 16_384;

/**
 * What is read of a whole reply that passes, of every protocol: what it used, how it ended, and the ids that it brings.
 * Others may be large: a response repeats the instructions and the tools of its request, a message holds its content, which is read
 * only where it may have to be written in another form.
 */
const READ_MEMBERS: ReadonlySet<string> = new Set([
  'id',
  'status',
  'store',
  'background',
  'completed_at',
  'service_tier',
  'usage',
  'tool_usage',
  'x_groq',
  'timings',
  'conversation',
  'container',
  'output',
  'choices',
  'data',
  'error',
  'stop_reason',
  'base_resp',
  'candidates',
  'promptFeedback',
  'usageMetadata',
]);

const [LIST] = Buffer.from('[');
const TEXT_INPUTS = ['"input":"', '"input": "'];

/** Whether the content of a message is in another form than its protocol's: no list, or with a call whose input is a text. */
const isOdd = (content: Buffer): boolean =>
  content[0] !== LIST || TEXT_INPUTS.some((sign) => content.includes(sign));

/**
 * The members of a large reply that are read. Null for small ones, and for all that are not surely an object: those are
 * for the parser.
 */
export function partsOf(reply: Buffer): JsonObject | null {
  if (reply.length < MIN_PARTIAL_BYTES) return null;
  const scanner = new MemberScanner(reply);
  const parts: [string, MemberSpan][] = [];
  for (let member = scanner.next(); member !== null; member = scanner.next()) {
    const name = reply.toString('latin1', member.nameStart + 1, member.nameEnd - 1);
    // A name may be written with escapes.
    if (name.includes('\\')) return null;
    if (READ_MEMBERS.has(name) || (name === 'content' && isOdd(reply.subarray(member.start, member.end))))
      parts.push([name, member]);
  }
  if (!scanner.ended) return null;
  try {
    return Object.fromEntries(
      parts.map(([name, { start, end }]) => [name, parseJson(reply.toString('utf8', start, end))]),
    );
  } catch {
    return null;
  }
}
