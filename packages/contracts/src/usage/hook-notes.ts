import { z } from 'zod';

/** What became of texts by a hook. `failed` blocks, `failed_open` lets the texts pass unchecked, `reported` only says what it would do. */
export const HookResult = z.enum(['passed', 'reported', 'replaced', 'failed_open', 'failed', 'blocked']);
export type HookResult = z.infer<typeof HookResult>;

/** What one hook did to one side of a request. */
export const HookNote = z.strictObject({
  hook: z.string(),
  side: z.enum(['input', 'output']),
  /** Of several checks the one that says most. */
  result: HookResult,
  checks: z.int().min(1),
  ms: z.int().min(0),
});
export type HookNote = z.infer<typeof HookNote>;

/** Such as `pii/input=replaced;ms=12, tone/output=passed;ms=80;checks=4`. */
export const writeHookNotes = (notes: readonly HookNote[]): string =>
  notes
    .map(
      ({ hook, side, result, checks, ms }) =>
        `${hook}/${side}=${result};ms=${ms}${checks > 1 ? `;checks=${checks}` : ''}`,
    )
    .join(', ');

const NOTE = /^(?<hook>[^/]+)\/(?<side>\w+)=(?<result>\w+);ms=(?<ms>\d+)(?:;checks=(?<checks>\d+))?$/;

/** The same, read. What was cut off at the end is left out. */
export const readHookNotes = (text: string): readonly HookNote[] =>
  text.split(', ').flatMap((part) => {
    const { hook, side, result, ms, checks = '1' } = NOTE.exec(part)?.groups ?? {};
    const read = HookNote.safeParse({ hook, side, result, ms: Number(ms), checks: Number(checks) });
    return read.success ? [read.data] : [];
  });
