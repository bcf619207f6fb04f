import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { defineScript, readScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { FindJob, FoundJob } from '../records/find-job.ts';
import { claimKey } from '../redis/job-keys.ts';
import type { ClaimMarks } from './claim-marks.ts';

const TAKE = readScript(new URL('./take-claim.lua', import.meta.url));
const RELEASE = readScript(new URL('./release-claim.lua', import.meta.url));

const CLAIM_SECONDS = 86_400;

/** Until when a repeated request finds the result of a job that was made for its key, in Unix milliseconds. */
export const claimedUntilMs = (createdAtMs: number): number => createdAtMs + CLAIM_SECONDS * 1000;

/** How long a request may take from its claim until its job is queued. If it dies before, others may take the claim. */
const QUEUEING_LIMIT_MS = 20_000;
const LOOK_AGAIN_MS = 100;
/** How long a job that was cancelled may take to end: its worker may have died, and another one ends it then. */
const STOPPING_LIMIT_MS = 20_000;

const Claim = z.strictObject({
  jobId: z.string(),
  /** Of the request that took the claim. */
  fingerprint: z.string(),
  takenAtMs: z.number(),
});

/** A request that carries an idempotency key. */
export interface ClaimingRequest {
  readonly keyId: string;
  readonly idempotencyKey: string;
  /** Equal requests have equal fingerprints. */
  readonly fingerprint: string;
  /** The job that it would make. */
  readonly jobId: string;
}

/** Who has an idempotency key: the request's own new job, or one that was made before. */
export type ClaimOutcome =
  | { readonly isNew: true; readonly claim: string }
  | { readonly isNew: false; readonly record: FoundJob };

/** Which job each idempotency key names. Any number of processes agree. */
export interface JobClaims {
  /**
   * Takes an idempotency key for a new job, or finds the job that has it. A key whose job failed, was cancelled, never came
   * to be queued, or has no result any more is free again. A job that is being stopped is waited for, since it may still get a result.
   *
   * @throws {GatewayError} `idempotency_key_reused` for another request under the same key; `service_unavailable` where its job does
   * not stop
   */
  claim(request: ClaimingRequest): Promise<ClaimOutcome>;
  /** The id of the job that has it. */
  jobOf(keyId: string, idempotencyKey: string): Promise<string | undefined>;
  /** Gives it back, if this job has it. */
  release(claim: string, jobId: string): Promise<void>;
}

interface ClaimsOptions {
  readonly redis: Redis;
  readonly find: FindJob;
  readonly marks: Pick<ClaimMarks, 'clear'>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export function createJobClaims({ redis, find, marks, now }: ClaimsOptions): JobClaims {
  const take = defineScript(redis, 'gatewayTakeClaim', TAKE, z.string());
  const release = defineScript(redis, 'gatewayReleaseClaim', RELEASE, z.unknown());
  return {
    claim: async ({ keyId, idempotencyKey, fingerprint, jobId }) => {
      const claim = claimKey(keyId, idempotencyKey);
      const beganAtMs = now();
      let replaced = '';
      for (;;) {
        const mine = JSON.stringify({ jobId, fingerprint, takenAtMs: now() });
        const text = await take([claim], mine, replaced, CLAIM_SECONDS);
        if (text === mine) return { isNew: true, claim };
        const held = Claim.parse(JSON.parse(text));
        if (held.fingerprint !== fingerprint) throw keyReused();
        const record = await find(held.jobId);
        if (record !== undefined && isOpen(record, now())) return { isNew: false, record };
        if (record?.isStopping) {
          if (now() - beganAtMs > STOPPING_LIMIT_MS) throw notStopped();
          await delay(LOOK_AGAIN_MS);
          continue;
        }
        // Its end is known, so that the next one is not the same.
        if (record !== undefined) await marks.clear(claim, record.id);
        if (record !== undefined || now() - held.takenAtMs > QUEUEING_LIMIT_MS) replaced = text;
        else await delay(LOOK_AGAIN_MS);
      }
    },
    jobOf: async (keyId, idempotencyKey) => {
      const text = await redis.get(claimKey(keyId, idempotencyKey));
      return text === null ? undefined : Claim.parse(JSON.parse(text)).jobId;
    },
    release: async (claim, jobId) => {
      await marks.clear(claim, jobId);
      await release([claim], jobId);
    },
  };
}

/** Whether another job has taken over this job's idempotency key. Then this job must not run. */
export async function isSuperseded(redis: Redis, claim: string, jobId: string): Promise<boolean> {
  const text = await redis.get(claim);
  return text !== null && Claim.parse(JSON.parse(text)).jobId !== jobId;
}

/** Whether a job has a result, or may still get one. */
const isOpen = ({ status, expiresAtMs }: FoundJob, nowMs: number): boolean =>
  status === 'queued' ||
  status === 'in_progress' ||
  (status === 'completed' && expiresAtMs !== null && expiresAtMs > nowMs);

const notStopped = (): GatewayError =>
  new GatewayError('service_unavailable', {
    message:
      'The job of this Idempotency-Key was cancelled and has not stopped yet. Send the request again in a few seconds.',
    retryAfterSeconds: 5,
  });

const keyReused = (): GatewayError =>
  new GatewayError('idempotency_key_reused', {
    message:
      'This Idempotency-Key was used with another request within the last 24 hours. Send the first request again, or use a new key.',
  });
