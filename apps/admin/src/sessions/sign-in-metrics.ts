import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import { Counter } from 'prom-client';

/** `limited`: after too many that were refused. */
export type SignInOutcome = 'ok' | 'refused' | 'limited' | 'failed';

export interface SignInMetrics {
  /** An attempt to sign in to the console. */
  signIn(labels: { readonly method: string; readonly outcome: SignInOutcome }): void;
}

export function createSignInMetrics({ registry }: MetricsRegistry): SignInMetrics {
  const signIns = new Counter({
    name: 'gateway_console_sign_ins_total',
    help: 'Attempts to sign in to the console, by their outcome: ok, refused, limited (after too many), failed',
    labelNames: ['method', 'outcome'],
    registers: [registry],
  });
  return { signIn: ({ method, outcome }) => signIns.inc({ method, outcome }) };
}
