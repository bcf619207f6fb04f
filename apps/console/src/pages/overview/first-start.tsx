import { Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMay } from '../../api/permissions.ts';
import { PageLink } from '../../parts/page/page-link.tsx';
import { ADD_PROVIDER, configurationQuery, isUnconfigured } from '../configuration/configuration-query.ts';

/** Where no provider is connected yet: the way to the first one, for those who may go it. */
export function FirstStart() {
  const may = useMay();
  const isForThem = may('POST /admin/v1/configuration/draft') && may('POST /admin/v1/keys');
  const { data: configuration } = useQuery({ ...configurationQuery, enabled: isForThem });
  if (configuration === undefined || !isUnconfigured(configuration)) return null;
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="first-start">
      <Stack gap={4}>
        <Title order={2} size="h5" id="first-start">
          Connect your first provider
        </Title>
        <Text size="sm">
          {configuration.source === 'simulator'
            ? 'Requests are answered by the simulator: made-up texts, at no cost.'
            : 'No channel is configured, so no request can be answered.'}{' '}
          In about a minute: a provider or a model server of your own, its models, a team with a key, and a
          first answer.
        </Text>
        <Group>
          <PageLink {...ADD_PROVIDER}>Set up the gateway</PageLink>
        </Group>
      </Stack>
    </Paper>
  );
}
