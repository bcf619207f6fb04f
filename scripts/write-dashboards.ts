/** `npm run dashboards`: writes the boards of `deploy/grafana/dashboards` from the tables in `scripts/dashboards`. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BOARDS } from './dashboards/boards.ts';
import { dashboardOf } from './dashboards/dashboard.ts';

const FOLDER = join(import.meta.dirname, '../deploy/grafana/dashboards');

for (const board of BOARDS)
  await writeFile(join(FOLDER, `${board.uid}.json`), `${JSON.stringify(dashboardOf(board), null, 2)}\n`);
