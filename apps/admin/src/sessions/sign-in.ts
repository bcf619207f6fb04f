import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Logger } from '@gateway/service-kit/logger';
import type { Request } from 'express';
import type { AddressOf } from './client-address.ts';
import type { NewSession, Session, SessionStore, SignInMethod } from './session-store.ts';
import type { SignInAttempts } from './sign-in-attempts.ts';
import type { SignInMetrics, SignInOutcome } from './sign-in-metrics.ts';

/** Who signs in, and what that person may do and see. */
export type Person = Pick<NewSession, 'name' | 'role' | 'scope' | 'keyHash' | 'person'>;

interface Attempt {
  readonly method: SignInMethod;
  readonly request: Request;
  readonly requestId: string | null;
  /** Finds out who it is. @throws {GatewayError} for anybody who may not sign in */
  readonly identify: () => Promise<Person>;
}

/**
 * Opens a session for the person that `identify` finds. Attempts of every method are bounded, counted and logged in the
 * same way.
 *
 * @throws {GatewayError} of `identify`; `rate_limited` instead when too many attempts of the address have failed
 */
export type SignIn = (attempt: Attempt) => Promise<Session>;

interface SignInOptions {
  readonly sessions: SessionStore;
  readonly attempts: SignInAttempts;
  readonly addressOf: AddressOf;
  readonly logger: Logger;
  readonly metrics: SignInMetrics;
}

const MAX_USER_AGENT_CHARS = 300;

const OUTCOMES: Readonly<Partial<Record<GatewayError['code'], SignInOutcome>>> = {
  invalid_key: 'refused',
  missing_key: 'refused',
  endpoint_not_allowed: 'refused',
  rate_limited: 'limited',
};

/**
 * The messages and codes of an error and of what caused it. Nothing else of them is logged: errors of an identity provider may hold
 * whole answers.
 */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const code = Object.entries(error).find(([name, value]) => name === 'code' && typeof value === 'string');
  const own = code === undefined ? error.message : `${error.message} (${code[1]})`;
  return error.cause instanceof Error ? `${own} ${reasonOf(error.cause)}` : own;
}

export function createSignIn({ sessions, attempts, addressOf, logger, metrics }: SignInOptions): SignIn {
  const identifyOrCount = async (identify: Attempt['identify'], address: string): Promise<Person> => {
    try {
      return await identify();
    } catch (error) {
      // What could not be checked is nobody's failure.
      if (error instanceof GatewayError && OUTCOMES[error.code] === 'refused') await attempts.fail(address);
      throw error;
    }
  };

  return async ({ method, request, requestId, identify }) => {
    const address = addressOf(request);
    try {
      const person = await identifyOrCount(identify, address);
      const userAgent = request.headers['user-agent']?.slice(0, MAX_USER_AGENT_CHARS) ?? null;
      const by = { who: person.name, requestId };
      const session = await sessions.open({ ...person, method, address, userAgent }, by);
      metrics.signIn({ method, outcome: 'ok' });
      const { id: sessionId, name: who, role } = session;
      logger.info({ sessionId, who, role, method, requestId }, 'signed in');
      return session;
    } catch (error) {
      const outcome = (error instanceof GatewayError && OUTCOMES[error.code]) || 'failed';
      metrics.signIn({ method, outcome });
      logger.warn({ address, method, outcome, requestId, reason: reasonOf(error) }, 'sign-in refused');
      throw error;
    }
  };
}
