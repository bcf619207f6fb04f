import type { MetricsPage } from '@gateway/service-kit/metrics';
import { mountMetrics } from '@gateway/service-kit/ops';
import express, { type Express } from 'express';

/** `/metrics` alone, on a port of its own, because anyone may call the public one. */
export function createMetricsApp(page: MetricsPage): Express {
  const app = express();
  app.disable('x-powered-by');
  mountMetrics(app, page);
  return app;
}
