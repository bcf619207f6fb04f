import { READINESS_CHANGES_PATH } from '@gateway/contracts/readiness';
import express, { type Router } from 'express';
import type { ProcessSettings } from './config.ts';
import type { Readiness } from './life/readiness.ts';
import type { MetricsPage } from './metrics.ts';
import { acceptsOpenMetrics } from './open-metrics.ts';
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
    const { status, missing } = await readiness.report();
    const shown = status === 'ok' ? 'ok' : 'unready';
    response
      .status(status === 'ok' ? 200 : 503)
      .json(showMissing ? { status: shown, missing } : { status: shown });
  });
}

/** How long an edge may take to take this address out once it knows that the process stops. */
const LEAVE_MS = 1000;

/**
 * The readiness as lines of JSON, for edges: several a second, and at once when the process stops. An edge that has taken
 * this address out then ends the request; a process waits for that before it closes any connection. One that has not is cut off:
 * the end of a reply would wait for a client that does not read.
 */
export function mountReadinessChanges(router: Router, readiness: Readiness): void {
  router.get(READINESS_CHANGES_PATH, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
    let leaving: NodeJS.Timeout | undefined;
    const unwatch = readiness.watch((report) => {
      if (report.status === 'stopping') leaving ??= setTimeout(() => response.destroy(), LEAVE_MS);
      // Nothing is queued for an edge that does not read. To that edge the process is silent.
      if (!response.writableNeedDrain) response.write(`${JSON.stringify(report)}\n`);
    });
    response.once('close', () => {
      clearTimeout(leaving);
      unwatch();
    });
  });
}

/** `/metrics` in Prometheus' text format, or as OpenMetrics where that is asked for. */
export function mountMetrics(router: Router, page: MetricsPage): void {
  router.get('/metrics', async (request, response) => {
    const { contentType, text } = acceptsOpenMetrics(request.headers.accept) ? page.openMetrics : page;
    response.setHeader('vary', 'accept');
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
