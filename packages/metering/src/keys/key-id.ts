import { randomBytes } from 'node:crypto';

/** Base 36 with nine digits holds milliseconds until the year 5188. */
const TIME_DIGITS = 9;
const RANDOM_BYTES = 8;

/** The pattern of every key's id. */
export const KEY_ID = /^key_[0-9a-z_]{1,60}$/;

/** A new key's id. Ids sort as text by creation time, and lists are paged by it. */
export const newKeyId = (nowMs: number): string =>
  `key_${nowMs.toString(36).padStart(TIME_DIGITS, '0')}${randomBytes(RANDOM_BYTES).toString('hex')}`;

/** The bootstrap key's id follows from its hash, so that every process that ensures the key uses the same record. */
export const bootstrapKeyId = (hash: string): string =>
  `key_bootstrap_${Buffer.from(hash, 'base64url').toString('hex').slice(0, 16)}`;
