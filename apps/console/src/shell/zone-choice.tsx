import { Radio, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { gatewayQuery } from '../api/queries.ts';
import { chooseTimeZone, OWN_ZONE, useTimeZone } from '../parts/time-zone.ts';

/** The zone that all times and days are shown in. */
export function ZoneChoice() {
  const zone = useTimeZone();
  const { data: gateway } = useQuery(gatewayQuery);
  const zones = new Map([
    ['UTC', 'Universal time'],
    ...(gateway === undefined ? [] : [[gateway.timeZone, 'Budget periods'] as const]),
    [OWN_ZONE, 'This device'],
  ]);
  return (
    <Radio.Group value={zone} onChange={chooseTimeZone} aria-label="Time zone" px="xs" pb="xs">
      <Stack gap={6}>
        {[...zones].toReversed().map(([name, what]) => (
          <Radio key={name} value={name} size="xs" label={name} description={what} />
        ))}
      </Stack>
    </Radio.Group>
  );
}
