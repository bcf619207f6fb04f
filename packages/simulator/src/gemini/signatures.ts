import { createHash } from 'node:crypto';
import type { JsonObject } from '../json-value.ts';

/** Accepted in place of a signature, for calls that another model made. */
export const NO_SIGNATURE = 'skip_thought_signature_validator';

/** A signature belongs to its own call. */
export const callSignature = ({ name, args }: JsonObject, secret: string): string =>
  createHash('sha256')
    .update(JSON.stringify([secret, name, args]))
    .digest('base64');

/** Of bytes, as Google compares them: its Python client writes them in the alphabet for URLs. */
export const isOwnCallSignature = (call: JsonObject, signature: string, secret: string): boolean =>
  Buffer.from(signature, 'base64').equals(Buffer.from(callSignature(call, secret), 'base64'));
