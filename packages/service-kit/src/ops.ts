import express, { type Router } from 'express';
import type { ProcessSettings } from './config.ts';
import type { MetricsPage } from './metrics.ts';
import type { Readiness } from './readiness.ts';
import type { Started } from './start-service.ts';

/** `/healthz` (the process is alive) and `/readyz` (it can serve, else what is missing). */
export function mountHealth(
  router: Router,
  readiness: Readiness,
  { showMissing }: { showMissing: boolean },
): void {
  router.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });
  router.get('/readyz', async (_request, response) => {
    const missing = await readiness.missing();
    const status = missing.length === 0 ? 'ok' : 'unready';
    response.status(missing.length === 0 ? 200 : 503).json(showMissing ? { status, missing } : { status });
  });
}

/** `/metrics` in Prometheus' text format. */
export function mountMetrics(router: Router, { contentType, text }: MetricsPage): void {
  router.get('/metrics', async (_request, response) => {
    response.type(contentType).send(await text());
  });
}

/** Health and metrics of a process that serves nothing else, on a port of their own. */
export async function listenForOps(
  { config, life, page }: Pick<Started<ProcessSettings>, 'config' | 'life' | 'page'>,
  { port, portSetting }: { readonly port: number; readonly portSetting: string },
): Promise<void> {
  const ops = express();
  mountHealth(ops, life.readiness, { showMissing: true });
  mountMetrics(ops, page);
  await life.listen(ops, { port, host: config.HOST, portSetting });
}
