/** The boards that `deploy/grafana` has, as tables, and the classic JSON of Grafana that is made of them. */

export interface Board {
  /** Fixed, so that links to it last. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** The label whose values can be chosen, and a metric that has it; `$NAME` stands for it in expressions. */
  readonly choice?: { readonly label: string; readonly metric: string };
  readonly panels: readonly Panel[];
}

export interface Panel {
  readonly title: string;
  readonly description: string;
  /** Grafana's id of a unit. */
  readonly unit: 'reqps' | 'percentunit' | 's' | 'currencyUSD' | 'short' | 'bytes' | 'cps' | 'dateTimeAsIso';
  /** One number, or lines over time. Default: lines. */
  readonly shows?: 'number' | 'lines';
  /** Of 24 columns. Default: 8 for lines, 4 for a number. */
  readonly width?: number;
  readonly targets: readonly Target[];
}

export interface Target {
  /** PromQL, with Grafana's `$__rate_interval` and `$__range`. */
  readonly expr: string;
  /** How its lines are named: `{{channel}}`. */
  readonly legend: string;
  /** It has no samples where nothing of the kind has ever happened. */
  readonly isRare?: boolean;
}

const COLUMNS = 24;
const HEIGHT = { lines: 8, number: 4 } as const;
const WIDTH = { lines: 8, number: 4 } as const;
const DATASOURCE = { type: 'prometheus', uid: `\${datasource}` };
/** Of the classic form; newer Grafanas bring it up to date by themselves. */
const SCHEMA_VERSION = 39;

/** A board as a file for Grafana's provisioning. */
export function dashboardOf({ uid, title, description, choice, panels }: Board): object {
  return {
    uid,
    title,
    description,
    tags: ['gateway'],
    editable: true,
    graphTooltip: 1,
    schemaVersion: SCHEMA_VERSION,
    time: { from: 'now-6h', to: 'now' },
    refresh: '30s',
    templating: { list: [SOURCES, ...(choice ? [variableOf(choice)] : [])] },
    panels: placed(panels).map(([panel, place], index) => panelOf(panel, index + 1, place)),
  };
}

const SOURCES = {
  name: 'datasource',
  label: 'Data source',
  type: 'datasource',
  query: 'prometheus',
  current: {},
};

const variableOf = ({ label, metric }: NonNullable<Board['choice']>): object => ({
  name: label,
  label: `${label.slice(0, 1).toUpperCase()}${label.slice(1)}`,
  type: 'query',
  datasource: DATASOURCE,
  query: { query: `label_values(${metric}, ${label})`, refId: 'values' },
  refresh: 2,
  multi: true,
  includeAll: true,
  allValue: '.*',
  current: { text: 'All', value: '$__all' },
});

interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** From left to right, a new row where the next one does not fit. */
function placed(panels: readonly Panel[]): readonly (readonly [Panel, Place])[] {
  let [x, y, rowHeight] = [0, 0, 0];
  return panels.map((panel) => {
    const { shows = 'lines', width: w = WIDTH[shows] } = panel;
    if (x + w > COLUMNS) [x, y, rowHeight] = [0, y + rowHeight, 0];
    const place = { x, y, w, h: HEIGHT[shows] };
    x += w;
    rowHeight = Math.max(rowHeight, place.h);
    return [panel, place];
  });
}

const panelOf = (
  { title, description, unit, shows = 'lines', targets }: Panel,
  id: number,
  gridPos: Place,
): object => ({
  id,
  type: shows === 'number' ? 'stat' : 'timeseries',
  title,
  description,
  datasource: DATASOURCE,
  gridPos,
  fieldConfig: { defaults: { unit, min: unit === 'dateTimeAsIso' ? null : 0 }, overrides: [] },
  options:
    shows === 'number'
      ? { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'none', graphMode: 'area' }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
  targets: targets.map(({ expr, legend }, index) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    datasource: DATASOURCE,
    expr,
    legendFormat: legend,
  })),
});
