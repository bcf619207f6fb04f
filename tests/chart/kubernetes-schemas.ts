import { HTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute';
import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject';
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1/Ingress';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { PersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim';
import { Pod } from 'kubernetes-models/v1/Pod';
import { Service } from 'kubernetes-models/v1/Service';
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount';

/** Every kind of object that the chart makes, with its schema: those of Kubernetes, and those of the custom resources. */
const MODELS = [
  (object: unknown) => Deployment.is(object) && new Deployment(object),
  (object: unknown) => HorizontalPodAutoscaler.is(object) && new HorizontalPodAutoscaler(object),
  (object: unknown) => HTTPRoute.is(object) && new HTTPRoute(object),
  (object: unknown) => ScaledObject.is(object) && new ScaledObject(object),
  (object: unknown) => PrometheusRule.is(object) && new PrometheusRule(object),
  (object: unknown) => ServiceMonitor.is(object) && new ServiceMonitor(object),
  (object: unknown) => Ingress.is(object) && new Ingress(object),
  (object: unknown) => NetworkPolicy.is(object) && new NetworkPolicy(object),
  (object: unknown) => PodDisruptionBudget.is(object) && new PodDisruptionBudget(object),
  (object: unknown) => ConfigMap.is(object) && new ConfigMap(object),
  (object: unknown) => PersistentVolumeClaim.is(object) && new PersistentVolumeClaim(object),
  (object: unknown) => Pod.is(object) && new Pod(object),
  (object: unknown) => Service.is(object) && new Service(object),
  (object: unknown) => ServiceAccount.is(object) && new ServiceAccount(object),
];

/** Throws for an object that does not fit its schema, and for one of a kind that is not known here. */
export function validateObject(object: unknown): void {
  const model = MODELS.flatMap((modelOf) => modelOf(object) || []).at(0);
  if (model === undefined) throw new Error('No schema is known for this kind of object.');
  model.validate();
}
