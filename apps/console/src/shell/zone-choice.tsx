import { SegmentedControl } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { gatewayQuery } from '../api/queries.ts';
import { chooseTimeZone, OWN_ZONE, useTimeZone } from '../parts/time-zone.ts';

/** The zone that all times and days are shown in. */
export function ZoneChoice() {
  const zone = useTimeZone();
  const { data: gateway } = useQuery(gatewayQuery);
  const zones = new Map([
    [zone, zone],
    ['UTC', 'UTC'],
    ...(gateway === undefined ? [] : [[gateway.timeZone, `${gateway.timeZone} (budgets)`] as const]),
    [OWN_ZONE, `${OWN_ZONE} (this device)`],
  ]);
  return (
    <SegmentedControl
      fullWidth
      orientation="vertical"
      size="xs"
      mx="xs"
      mb="xs"
      aria-label="Time zone"
      data={[...zones].map(([value, label]) => ({ value, label }))}
      value={zone}
      onChange={chooseTimeZone}
    />
  );
}
