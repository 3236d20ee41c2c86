// RocketMQ 5 as Maven has it: a name server, and a broker with its proxy in one process. Only
// tests use it: nothing here is for data that must survive.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { exists } from './apt.mjs';
import { EngineServer } from './engine-server.mjs';
import { cacheFolder } from './folders.mjs';
import { freePort } from './ports.mjs';

const VERSION = '5.4.0';
const TOPIC = 'lastcall-alarms';
const CLUSTER = 'lastcall';

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>lastcall</groupId><artifactId>rocketmq</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies>${['rocketmq-proxy', 'rocketmq-namesrv']
    .map(
      (name) =>
        `<dependency><groupId>org.apache.rocketmq</groupId><artifactId>${name}</artifactId>` +
        `<version>${VERSION}</version></dependency>`,
    )
    .join('')}</dependencies>
</project>`;

/**
 * The proxy and the replication listen to everybody, and no setting changes that: whatever opens a
 * port in these processes opens it on this machine only.
 */
const LOOPBACK = `package sun.nio.ch;
import java.io.IOException;
import java.net.*;
import java.nio.channels.ServerSocketChannel;
public class LoopbackProvider extends EPollSelectorProvider {
  @Override public ServerSocketChannel openServerSocketChannel() throws IOException {
    return new ServerSocketChannelImpl(this) {
      @Override public ServerSocketChannel bind(SocketAddress local, int backlog) throws IOException {
        int port = local == null ? 0 : ((InetSocketAddress) local).getPort();
        return super.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), backlog);
      }
    };
  }
}`;

const current = () => join(cacheFolder('rocketmq'), VERSION);

/** What is missing to have one; undefined when it can be had. @returns {string | undefined} */
export function rocketmqIsMissing() {
  const needed = existsSync(current()) ? ['java'] : ['java', 'javac', 'mvn'];
  const missing = needed.filter((program) => !exists(program));
  if (missing.length === 0 && process.platform === 'linux') return undefined;
  return missing.length > 0
    ? `needs ${missing.join(', ')}: install a JDK of 17 or newer and Maven, and run it again`
    : 'its loopback patch is for Linux';
}

/** @param {(line: string) => void} say @returns {string} the folder with its jars */
function findRocketmq(say) {
  if (existsSync(current())) return current();
  say(`Fetching RocketMQ ${VERSION} by Maven, for this project only`);
  const folder = mkdtempSync(join(cacheFolder('rocketmq'), 'fetched-'));
  try {
    writeFileSync(join(folder, 'pom.xml'), POM);
    run('mvn', ['-B', '-q', 'dependency:copy-dependencies', '-DoutputDirectory=lib'], folder);
    const source = join(folder, 'source', 'sun', 'nio', 'ch', 'LoopbackProvider.java');
    mkdirSync(dirname(source), { recursive: true });
    writeFileSync(source, LOOPBACK);
    const patch = `java.base=${join(folder, 'source')}`;
    run('javac', ['-nowarn', '-d', 'patch', '--patch-module', patch, source], folder);
    renameSync(folder, current());
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    if (!existsSync(current())) throw error;
  }
  return current();
}

/** @param {string} command @param {string[]} args @param {string} cwd */
function run(command, args, cwd) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} failed:\n${`${stdout}${stderr}`.slice(-4_000)}`);
}

/**
 * @param {object} how
 * @param {string} how.folder where it keeps everything
 * @param {(line: string) => void} how.say
 * @returns {Promise<EngineServer>}
 */
export async function startRocketmq({ folder, say }) {
  const root = findRocketmq(say);
  const [grpc, remoting, names] = [await freePort(), await freePort(), await freePort()];
  // It opens two more, before and behind its own: chosen here so that nobody else has them.
  const broker = await freePorts();
  const store = join(folder, 'store');
  mkdirSync(join(folder, 'conf'), { recursive: true });
  const proxySettings = {
    ...{ rocketMQClusterName: CLUSTER, proxyMode: 'local', localServeAddr: '127.0.0.1' },
    ...{ grpcServerPort: grpc, remotingListenPort: remoting },
  };
  writeFileSync(join(folder, 'conf', 'rmq-proxy.json'), JSON.stringify(proxySettings));
  const nameSettings = {
    ...{ listenPort: names, bindAddress: '127.0.0.1', rocketmqHome: folder },
    configStorePath: join(folder, 'names.properties'),
    kvConfigPath: join(folder, 'names.json'),
  };
  writeFileSync(join(folder, 'names.conf'), properties(nameSettings));
  const brokerSettings = {
    ...{ brokerClusterName: CLUSTER, brokerName: 'one', brokerId: 0, brokerIP1: '127.0.0.1' },
    ...{ listenPort: broker, haListenPort: broker + 1, namesrvAddr: `127.0.0.1:${names}` },
    registerNameServerPeriod: 10_000,
    ...{ storePathRootDir: store, flushDiskType: 'SYNC_FLUSH', recallMessageEnable: true },
    // Small files: its own are a gigabyte each, and are written in advance.
    ...{ mappedFileSizeCommitLog: 16_777_216, mappedFileSizeConsumeQueue: 600_000 },
    ...{ mappedFileSizeTimerLog: 4_194_304, diskMaxUsedSpaceRatio: 95 },
  };
  writeFileSync(join(folder, 'broker.conf'), properties(brokerSettings));

  const java = [
    ...['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Djava.net.preferIPv4Stack=true'],
    ...['--patch-module', `java.base=${join(root, 'patch')}`],
    '-Djava.nio.channels.spi.SelectorProvider=sun.nio.ch.LoopbackProvider',
    ...[`-Duser.home=${folder}`, `-Drocketmq.home.dir=${folder}`],
    // Its keys of its own take seconds, and nobody comes from elsewhere.
    '-Dtls.server.mode=disabled',
    ...['-cp', join(root, 'lib', '*')],
  ];
  const server = new EngineServer({
    url: `rocketmq://127.0.0.1:${grpc}/${TOPIC}`,
    folder,
    data: [store],
    prepare: () => declareTopic(store),
    serves: () => hasRoute(grpc),
    helpers: [
      {
        ...{ name: "RocketMQ's name server", command: 'java', port: names },
        args: [
          ...['-Xmx256m', ...java, 'org.apache.rocketmq.namesrv.NamesrvStartup'],
          ...['-c', join(folder, 'names.conf')],
        ],
      },
    ],
    program: {
      ...{ name: 'RocketMQ', command: 'java', port: grpc },
      args: [
        ...['-Xmx512m', ...java, 'org.apache.rocketmq.proxy.ProxyStartup'],
        ...['-pm', 'local', '-n', `127.0.0.1:${names}`, '-bc', join(folder, 'broker.conf')],
        ...['-pc', join(folder, 'conf', 'rmq-proxy.json')],
      ],
    },
  });
  await server.start();
  return server;
}

/** As `mqadmin updateTopic -a +message.type=DELAY` would. @param {string} store */
function declareTopic(store) {
  const file = join(store, 'config', 'topics.json');
  if (existsSync(file)) return;
  mkdirSync(dirname(file), { recursive: true });
  const topic = {
    ...{ topicName: TOPIC, readQueueNums: 2, writeQueueNums: 2, perm: 6, order: false },
    ...{ topicFilterType: 'SINGLE_TAG', topicSysFlag: 0, attributes: { 'message.type': 'DELAY' } },
  };
  writeFileSync(file, JSON.stringify({ topicConfigTable: { [TOPIC]: topic } }));
}

/** A broker that has just started is not known to its name server yet. @param {number} port */
async function hasRoute(port) {
  const require = createRequire(import.meta.url);
  const { credentials, Metadata } = require('@grpc/grpc-js');
  const stubs = 'rocketmq-client-nodejs/proto/apache/rocketmq/v2';
  const { MessagingServiceClient } = require(`${stubs}/service_grpc_pb`);
  const { QueryRouteRequest } = require(`${stubs}/service_pb`);
  const { Address, AddressScheme, Endpoints, Resource } = require(`${stubs}/definition_pb`);
  const here = new Address().setHost('127.0.0.1').setPort(port);
  const request = new QueryRouteRequest()
    .setTopic(new Resource().setName(TOPIC))
    .setEndpoints(new Endpoints().setScheme(AddressScheme.IPV4).setAddressesList([here]));
  const metadata = new Metadata();
  metadata.set('x-mq-client-id', 'starter');
  metadata.set('x-mq-language', 'HTTP');
  const options = { 'grpc.use_local_subchannel_pool': 1 };
  const client = new MessagingServiceClient(
    `127.0.0.1:${port}`,
    credentials.createInsecure(),
    options,
  );
  try {
    return await new Promise((resolve) =>
      client.queryRoute(
        request,
        metadata,
        { deadline: Date.now() + 2_000 },
        (
          /** @type {unknown} */ error,
          /** @type {{ getMessageQueuesList(): unknown[] }} */ answer,
        ) => resolve(!error && answer.getMessageQueuesList().length > 0),
      ),
    );
  } finally {
    client.close();
  }
}

/** @param {Record<string, unknown>} settings */
function properties(settings) {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

/** A port whose neighbours are free as well, most likely. @returns {Promise<number>} */
async function freePorts() {
  const port = await freePort();
  return port > 1_100 && port < 65_000 ? port : freePorts();
}
