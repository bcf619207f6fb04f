import type { ContentRecord } from '@gateway/contracts/content-log';
import { CALLER_NAMES } from '@gateway/contracts/usage/caller-names';
import { serveTasks } from '@gateway/service-kit/threads/serve-tasks';
import { cleanContent } from './clean/clean-content.ts';
import { createRedactor, type Redacting } from './clean/redactor.ts';

/** What is known of a request beside its content. */
export type ContentFacts = Omit<ContentRecord, 'version' | 'request' | 'answer' | 'cut' | 'redacted'>;

/** What a side of a request holds: JSON as bytes, or a value that is none. Null: nothing, or more than was held. */
export type ContentSide =
  | { readonly json: Uint8Array; readonly member?: string }
  | { readonly value: unknown }
  | null;

/** Writes one line of the content log. */
export interface LineTask extends Redacting {
  readonly facts: ContentFacts;
  readonly request: ContentSide;
  readonly answer: ContentSide;
  /** Sides that were longer than the gateway holds. */
  readonly overlong: readonly ('request' | 'answer')[];
  readonly maxBytes: number;
}

function contentOf(side: ContentSide): unknown {
  if (side === null) return null;
  if ('value' in side) return side.value;
  const text = Buffer.from(side.json.buffer, side.json.byteOffset, side.json.byteLength).toString();
  try {
    const value: unknown = JSON.parse(text);
    const member = side.member === undefined ? undefined : memberOf(value, side.member);
    return member ?? value;
  } catch {
    return text;
  }
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

export function writeLine({ facts, request, answer, overlong, maxBytes, ...redacting }: LineTask): string {
  const redactor = createRedactor(redacting);
  const asked = cleanContent(contentOf(request), redactor, maxBytes);
  const answered = cleanContent(contentOf(answer), redactor, maxBytes);
  const cut = (['request', 'answer'] as const).filter(
    (side) => overlong.includes(side) || (side === 'request' ? asked : answered).isCut,
  );
  const names = CALLER_NAMES.flatMap((name) => {
    const given = facts[name];
    return given === undefined ? [] : [[name, redactor.text(given)] as const];
  });
  const { error } = facts;
  const record: ContentRecord = {
    version: 1,
    ...facts,
    ...Object.fromEntries(names),
    ...(error && { error: { ...error, message: redactor.text(error.message) } }),
    request: asked.content,
    answer: answered.content,
    ...(cut.length > 0 && { cut }),
    ...(Object.keys(redactor.counts).length > 0 && { redacted: redactor.counts }),
  };
  return JSON.stringify(record);
}

serveTasks<LineTask, string>((task) => ({ result: writeLine(task) }));
