import { Badge, Group, Stack, Text } from '@mantine/core';
import type { ShownRequest } from '../../api/types.ts';
import { milliseconds } from '../../parts/numbers.ts';

type Hook = ShownRequest['hooks'][number];

/** What a hook's result means, and its color. */
const RESULTS: Readonly<Record<Hook['result'], readonly [text: string, color: string]>> = {
  passed: ['Passed unchanged.', 'teal'],
  replaced: ['Some of the text was replaced.', 'blue'],
  reported: ['Would have been blocked or changed; reported only.', 'orange'],
  blocked: ['Blocked.', 'red'],
  failed: ['The check failed, so the text was blocked.', 'red'],
  failed_open: ['The check failed, and the text passed unchecked.', 'orange'],
};
const SIDES: Readonly<Record<Hook['side'], string>> = { input: 'request', output: 'answer' };

/** What each hook did to the texts of a request. */
export const Hooks = ({ of: hooks }: { of: readonly Hook[] }) => (
  <Stack gap="xs" component="ul" m={0} p={0} style={{ listStyle: 'none' }} aria-label="Checks">
    {hooks.map(({ hook, side, result, checks, ms }) => {
      const [text, color] = RESULTS[result];
      return (
        <li key={`${hook}/${side}`}>
          <Group justify="space-between" wrap="nowrap" gap="xs" align="flex-start">
            <div>
              <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
                {hook}
                <Text span size="xs" c="dimmed" fw={400}>
                  {' '}
                  {SIDES[side]}
                  {checks > 1 && `, ${checks} checks`}
                </Text>
              </Text>
              <Text size="sm">{text}</Text>
            </div>
            <Stack gap={2} align="flex-end" flex="none">
              <Badge variant="dot" color={color}>
                {result.replace('_', ' ')}
              </Badge>
              <Text size="xs" c="dimmed">
                {milliseconds(ms)}
              </Text>
            </Stack>
          </Group>
        </li>
      );
    })}
  </Stack>
);
