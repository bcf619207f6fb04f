import { useQuery } from '@tanstack/react-query';
import { PageFailed } from '../../parts/page/page-failed.tsx';
import { Chart } from '../traffic/chart.tsx';
import { useKeyNames } from '../traffic/key-name.tsx';
import { MEASURES } from '../traffic/measures.ts';
import { draw } from '../traffic/series.ts';
import { GROUP_LABELS, type Group, usageQuery, valueLabel } from '../traffic/usage-query.ts';
import { Part, type PartView } from './part.tsx';

const CHARTS = ['requests', 'errors', 'spend', 'totalP95'] as const;
/** Names that are read for charts, which show six. */
const MAX_NAMED = 50;

interface LifeChartsProps extends PartView {
  readonly by: Group;
  readonly overTime: true | 'days';
  readonly zoom: (range: { from: string; to: string; range: undefined }) => void;
}

export function LifeCharts({ by, overTime, zoom, ...view }: LifeChartsProps) {
  const { data: usage, error, refetch } = useQuery(usageQuery({ ...view, groupBy: [by], overTime }));
  const ids = by === 'keyId' ? new Set(usage?.rows.map(({ keyId }) => keyId ?? '')) : [];
  const names = useKeyNames([...ids].slice(0, MAX_NAMED));
  if (error) return <PageFailed error={error} reset={() => void refetch()} />;
  return CHARTS.map((name) => {
    const measure = MEASURES[name];
    // While another split is loaded, what is shown is that of before.
    const [group = by] = usage?.groupBy ?? [];
    const drawn =
      usage &&
      draw({
        ...{ ...usage, measure, group: (row) => row[group] ?? '' },
        labelOf: (value) => names.get(value) ?? valueLabel(group, value),
        rankOf: ({ requests }) => requests,
      });
    return (
      <Part key={name} title={`${measure.label} by ${GROUP_LABELS[group].toLowerCase()}`}>
        <Chart
          of={drawn}
          title={measure.label}
          height={170}
          syncGroup="life"
          behind={{ only: view.only, group, zoom }}
        />
      </Part>
    );
  });
}
