import { JobAttempts } from '@gateway/contracts/jobs';
import { z } from 'zod';

/**
 * The first text that a streaming job emits: the channel, what it had no parameter for, and what was called until it began.
 * All others are events.
 */
export const StreamHead = z.object({
  channel: z.string(),
  dropped: z.array(z.string()).optional(),
  ...JobAttempts.partial().shape,
});
export type StreamHead = z.infer<typeof StreamHead>;

export const isHead = (text: string): boolean => text.startsWith('{');
