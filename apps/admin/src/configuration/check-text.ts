import { GatewayError } from '@gateway/contracts/gateway-error';
import { createTaskThread } from '@gateway/service-kit/threads/task-thread';
import { HOOK_KINDS } from '@gateway/upstream/configuration/hooks-entry';
import { z } from 'zod';
import type { CheckTask } from './check-text-thread.ts';
import type { CheckedConfiguration } from './configuration-state.ts';

const Mistake = z.strictObject({
  /** From 1; null for the text as a whole. */
  line: z.int().nullable(),
  column: z.int().nullable(),
  /** Such as `models.gpt-5.2.routes[0].channel`; empty for the text as a whole. */
  path: z.string(),
  found: z.string(),
  expected: z.string(),
});

/** What a person learns of a configuration text. */
export const CheckedText = z.strictObject({
  isValid: z.boolean(),
  mistakes: z.array(Mistake),
  /** Variables that the admin service does not have and takes as set; the services say at their start whether they have them. */
  unknownVariables: z.array(z.string()),
  channels: z.int(),
  models: z.int(),
  /** Which checks requests go through, in their order. */
  hooks: z.array(
    z.strictObject({
      name: z.string(),
      kind: z.enum(HOOK_KINDS),
      input: z.string(),
      output: z.string(),
      onFailure: z.string(),
      /** No rule limits it. */
      isForAll: z.boolean(),
    }),
  ),
});
type CheckedText = z.infer<typeof CheckedText>;

export const shownCheck = ({
  configuration,
  mistakes,
  unknownVariables,
}: CheckedConfiguration): CheckedText => ({
  isValid: configuration !== null,
  mistakes: [...mistakes],
  unknownVariables: [...unknownVariables],
  channels: configuration?.channels.size ?? 0,
  models: configuration?.models.length ?? 0,
  hooks: (configuration?.hooks ?? []).map(({ name, kind, input, output, onFailure, rules }) => ({
    ...{ name, kind, input, output, onFailure },
    isForAll: rules === null,
  })),
});

/**
 * Checks a text from a browser as the services would, but for what its variables hold. Applies nothing.
 *
 * @throws {GatewayError} `invalid_value` for a text that is refused before it is read, or takes too long
 */
export type CheckText = (text: string) => Promise<CheckedText>;

/** A file of a thousand models takes a second. */
const TIME_LIMIT_MS = 10_000;

/** @param path the file that mistakes name */
export function createTextCheck(path: string, timeLimitMs = TIME_LIMIT_MS): CheckText {
  const thread = createTaskThread<CheckTask, CheckedText>({
    module: new URL('./check-text-thread.ts', import.meta.url),
    timeLimitMs,
    maxHeapMb: 512,
    // Somebody who writes a file checks it again and again.
    idleMs: 60_000,
    onTooMuch: () =>
      new GatewayError('invalid_value', {
        path: ['text'],
        message:
          "Invalid value for 'text': it takes too long to be read as YAML. Look for quotes that are not closed and for repeated lines, or check it in parts.",
      }),
  });
  return (text) => thread.run({ text, path });
}
