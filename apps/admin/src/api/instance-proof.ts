import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Express } from 'express';

/**
 * The command line verifies the admin service of its own data folder before it sends the token: `npm start` gives a key to
 * the service and writes it, with the service's address, into a file that only its owner can read. Only a process with
 * that key can answer with this proof.
 */
const PATH = '/instance';
const MAX_CHALLENGE_CHARS = 100;

const proofOf = (instanceKey: string, challenge: string): string =>
  createHmac('sha256', instanceKey).update(challenge).digest('base64url');

/** Answers challenges, without a token. A service without a key has no such path. */
export function mountInstanceProof(app: Express, instanceKey: string | undefined): void {
  if (instanceKey === undefined) return;
  app.get(PATH, ({ query: { challenge } }, response, next) => {
    if (typeof challenge !== 'string' || challenge.length > MAX_CHALLENGE_CHARS) next();
    else response.json({ proof: proofOf(instanceKey, challenge) });
  });
}

export const challengeUrl = (url: string, challenge: string): URL =>
  new URL(`${PATH}?challenge=${encodeURIComponent(challenge)}`, url);

/** Compares in constant time. */
export function isProof(proof: string, instanceKey: string, challenge: string): boolean {
  const expected = Buffer.from(proofOf(instanceKey, challenge));
  const given = Buffer.from(proof);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
