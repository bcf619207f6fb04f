import { Stack, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import * as z from 'zod/mini';
import { PageFailed } from '../../parts/page-failed.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { usePageSearch } from '../../parts/page-search.ts';
import { CheckConfiguration } from './check-configuration.tsx';
import { configurationQuery } from './configuration-query.ts';
import { LoadedConfiguration } from './loaded-configuration.tsx';
import { ReloadState } from './reload-state.tsx';

const VIEWS = ['loaded', 'check'] as const;

const Search = z.object({ view: z.catch(z.optional(z.enum(VIEWS)), undefined) });

/** What the gateway is configured to do, whether its last change took effect, and a check of the next one. */
export default function ConfigurationPage() {
  const [{ view = 'loaded' }, change] = usePageSearch(Search);
  const { data: configuration, error, refetch } = useQuery(configurationQuery);
  return (
    <Stack gap={0}>
      <PageHeader
        title="Configuration"
        about="What the gateway is to do, and a check of what it is to do next."
      />
      {error && <PageFailed error={error} reset={() => void refetch()} />}
      {configuration && <ReloadState of={configuration} />}
      <Tabs
        value={view}
        onChange={(chosen) => change({ view: chosen === 'check' ? 'check' : undefined })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="loaded">As loaded</Tabs.Tab>
          <Tabs.Tab value="check">Check a change</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="loaded">{configuration && <LoadedConfiguration of={configuration} />}</Tabs.Panel>
        <Tabs.Panel value="check">
          <CheckConfiguration
            loaded={configuration?.text ?? null}
            path={configuration?.path ?? 'gateway.yaml'}
          />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
