/** `npm run monitoring`: writes the boards of `deploy/grafana` from their tables, and `deploy/prometheus/alerts.yaml` from the chart's rules. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { alertsOf } from './dashboards/alerts.ts';
import { BOARDS } from './dashboards/boards.ts';
import { dashboardOf } from './dashboards/dashboard.ts';

const DEPLOY = join(import.meta.dirname, '../deploy');

for (const board of BOARDS)
  await writeFile(
    join(DEPLOY, 'grafana/dashboards', `${board.uid}.json`),
    `${JSON.stringify(dashboardOf(board), null, 2)}\n`,
  );
const rules = await readFile(join(DEPLOY, 'helm/gateway/files/rules.yaml'), 'utf8');
await writeFile(join(DEPLOY, 'prometheus/alerts.yaml'), alertsOf(rules));
