import type { HookResult } from '@gateway/contracts/usage/hook-notes';
import { DURATION_BUCKETS, type MetricsRegistry } from '@gateway/service-kit/metrics';
import { Counter, Histogram } from 'prom-client';
import type { Side } from './check.ts';

export interface HookMetrics {
  checked(hook: string, side: Side, result: HookResult, durationMs: number): void;
}

const MS_PER_SECOND = 1000;

export function createHookMetrics({ registry }: MetricsRegistry): HookMetrics {
  const registers = [registry];
  const checks = new Counter({
    name: 'gateway_hook_checks_total',
    help: 'Checks of texts by hooks, by what came of them; failed_open: the texts passed unchecked',
    labelNames: ['hook', 'side', 'result'],
    registers,
  });
  const duration = new Histogram({
    name: 'gateway_hook_duration_seconds',
    help: 'How long a check by a hook took',
    labelNames: ['hook'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  return {
    checked: (hook, side, result, durationMs) => {
      checks.inc({ hook, side, result });
      duration.observe({ hook }, durationMs / MS_PER_SECOND);
    },
  };
}
