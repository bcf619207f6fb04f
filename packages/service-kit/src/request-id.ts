import { randomFillSync } from 'node:crypto';

/** An id that a caller may choose: printable, harmless in logs and headers, bounded. */
const SANE = /^[A-Za-z0-9._:-]{8,128}$/;

const ID_BYTES = 16;
const pool = Buffer.alloc(ID_BYTES * 256);
let used = pool.length;

/** A new request id: `req_` and 128 random bits. Randomness is drawn for 256 ids at a time. */
function newRequestId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const id = pool.toString('hex', used, used + ID_BYTES);
  used += ID_BYTES;
  return `req_${id}`;
}

/** The caller's own request id if it is valid, else a new one. */
export const requestIdOf = (sent: string | string[] | undefined): string =>
  typeof sent === 'string' && SANE.test(sent) ? sent : newRequestId();
