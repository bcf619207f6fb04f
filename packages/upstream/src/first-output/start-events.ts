import { z } from 'zod';
import type { Protocol } from '../protocol.ts';

/** The events of one protocol's streams that show nothing of the answer yet. */
export interface StartEvents {
  /** By name, whatever they hold. */
  readonly names: ReadonlySet<string>;
  /** The shape of events without a name that show nothing; null: every one of those is output. */
  readonly empty: z.ZodType | null;
}

/** A member without content. */
const Nothing = z.union([z.null(), z.literal(''), z.array(z.never())]);

/** Chat: the role, and empty deltas; also a chunk without a choice, such as Azure's verdict on the prompt. */
const EmptyChunk = z.looseObject({
  choices: z.array(
    z.looseObject({
      delta: z.object({ role: z.string().nullish() }).catchall(Nothing).nullish(),
      finish_reason: z.null().optional(),
    }),
  ),
});

/**
 * What comes before a stream's first output. An event that is not in this table is output, whether known or not. The
 * beginning of an item or a block is output: where its content is encrypted, a minute may pass until the next event.
 */
export const START_EVENTS: Readonly<Partial<Record<Protocol, StartEvents>>> = {
  responses: {
    names: new Set(['response.created', 'response.queued', 'response.in_progress', 'keepalive']),
    empty: null,
  },
  messages: { names: new Set(['message_start', 'ping']), empty: null },
  chat: { names: new Set(), empty: EmptyChunk },
  // Its first event is output, if it can be read.
  transcriptions: { names: new Set(), empty: null },
};
