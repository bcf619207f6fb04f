import { basename } from 'node:path';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { createTaskThread } from '@gateway/service-kit/threads/task-thread';
import { CHANGED_SECTIONS } from '@gateway/upstream/configuration/draft/changed-sections';
import type { ConfigurationEdit } from '@gateway/upstream/configuration/draft/configuration-edit';
import { z } from 'zod';
import { CheckedText } from './check-text.ts';
import type { DraftTask } from './draft-thread.ts';

/** A configuration that somebody writes, beside the one that is in use. */
export const DraftedConfiguration = z.strictObject({
  /** The revision in use, which is named where the draft is saved; 0: there is none. Null: the file is the truth, and nothing can be saved. */
  base: z.int().nullable(),
  /** The draft, after its edits. Secrets of the configuration in use are `[masked]`. */
  text: z.string(),
  ...CheckedText.shape,
  /** What differs from the configuration in use, in words. */
  changes: z.array(
    z.strictObject({
      section: z.enum(CHANGED_SECTIONS),
      /** The channel or the model; null for the other sections. */
      name: z.string().nullable(),
      kind: z.enum(['added', 'removed', 'changed']),
      text: z.string(),
    }),
  ),
  /** The same as a unified diff; null where too much differs. */
  diff: z.string().nullable(),
  /** The draft's entries by their names, without secrets; null where it is not YAML. */
  entries: z
    .strictObject({ channels: z.record(z.string(), z.unknown()), models: z.record(z.string(), z.unknown()) })
    .nullable(),
});
export type DraftedConfiguration = z.infer<typeof DraftedConfiguration>;

export interface DraftRequest {
  /** What it is compared with. Absent: the configuration in use. */
  readonly base?: string | undefined;
  /** Absent: the configuration in use. */
  readonly text?: string | undefined;
  readonly edits?: readonly ConfigurationEdit[] | undefined;
}

/**
 * Edits, checks and compares a draft. Applies nothing.
 *
 * @throws {GatewayError} `invalid_value` for an edit that leads nowhere, or a text that takes too long
 */
export type Draft = (request: DraftRequest) => Promise<DraftedConfiguration>;

const TIME_LIMIT_MS = 20_000;

/** What a first configuration begins with. */
export const EMPTY_CONFIGURATION = 'channels: {}\nmodels: {}\n';

interface DraftOptions {
  /** The file that mistakes name. */
  readonly path: string;
  /** The configuration in use, with its secrets; null: there is none. */
  readonly readBase: () => Promise<BaseText>;
}

export interface BaseText {
  readonly text: string | null;
  /** The revision's; 0: there is none yet. Null: it is a file. */
  readonly number: number | null;
}

export function createDraft({ path, readBase }: DraftOptions): Draft {
  const thread = createTaskThread<DraftTask, DraftedConfiguration>({
    module: new URL('./draft-thread.ts', import.meta.url),
    timeLimitMs: TIME_LIMIT_MS,
    maxHeapMb: 512,
    // Somebody who writes a draft changes it again and again.
    idleMs: 60_000,
    onTooMuch: () =>
      new GatewayError('invalid_value', {
        path: ['text'],
        message:
          "Invalid value for 'text': it takes too long to be read and compared. Make fewer changes at a time.",
      }),
  });
  return async ({ base, text, edits = [] }) => {
    const found = base === undefined ? await readBase() : { text: base, number: null };
    const file = basename(path);
    return thread.run({
      base: found.text ?? EMPTY_CONFIGURATION,
      number: found.number,
      text,
      edits,
      path,
      file,
    });
  };
}
