import { randomFillSync } from 'node:crypto';

/** An id that a caller may choose: printable, harmless in logs and headers, bounded. */
const SANE = /^[A-Za-z0-9._:-]{8,128}$/;

const ID_BYTES = 16;
const TIME_BYTES = 6;
const pool = Buffer.alloc(ID_BYTES * 256);
let used = pool.length;

/**
 * A new request id: `req_`, the Unix milliseconds, 80 random bits. By its time a request's record is found among many.
 * Randomness is drawn for 256 ids at a time.
 */
function newRequestId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  pool.writeUIntBE(Date.now(), used, TIME_BYTES);
  const id = pool.toString('hex', used, used + ID_BYTES);
  used += ID_BYTES;
  return `req_${id}`;
}

/** The caller's own request id if it is valid, else a new one. */
export const requestIdOf = (sent: string | string[] | undefined): string =>
  typeof sent === 'string' && SANE.test(sent) ? sent : newRequestId();

const TIMED = new RegExp(`^req_([0-9a-f]{${2 * TIME_BYTES}})[0-9a-f]{${2 * (ID_BYTES - TIME_BYTES)}}$`);

/** When a request id was made, in Unix milliseconds; null for one that a caller chose. */
export function timeOfRequestId(id: string): number | null {
  const [, time] = TIMED.exec(id) ?? [];
  return time === undefined ? null : Number.parseInt(time, 16);
}
