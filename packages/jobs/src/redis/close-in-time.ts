import { within } from '@gateway/redis/within';

/** How long BullMQ may take to close once nothing is left to be done. */
const GOODBYE_MS = 1000;

/** Waits until BullMQ has closed, within a time limit: while Redis is away, BullMQ waits for it without end. */
export const closeInTime = (closing: Promise<unknown>, workMs = 0): Promise<unknown> =>
  within(workMs + GOODBYE_MS, closing, () => undefined);
