import type { ContentRecord } from '@gateway/contracts/content-log';
import { CALLER_NAMES } from '@gateway/contracts/usage/caller-names';
import { serveTasks } from '@gateway/service-kit/threads/serve-tasks';
import { cleanContent } from './clean/clean-content.ts';
import { createRedactor, type Redacting } from './clean/redactor.ts';
import { type ContentSide, contentOf } from './content-side.ts';

/** What is known of a request beside its content. */
export type ContentFacts = Omit<ContentRecord, 'version' | 'request' | 'answer' | 'cut' | 'redacted'>;

/** Writes one line of the content log. */
export interface LineTask extends Redacting {
  readonly facts: ContentFacts;
  readonly request: ContentSide;
  readonly answer: ContentSide;
  /** Sides that were longer than the gateway holds. */
  readonly overlong: readonly ('request' | 'answer')[];
  readonly maxBytes: number;
}

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
