// The commands of clients/README.md, by kafkajs.
'use strict'

const { CompressionTypes, Kafka, logLevel } = require('kafkajs')

const [command, servers, ...rest] = process.argv.slice(2)
const kafka = new Kafka({ clientId: 'kafkajs', brokers: servers.split(','), logLevel: logLevel.ERROR })
const print = fact => console.log(JSON.stringify(fact))

async function withAdmin(work) {
  const admin = kafka.admin()
  await admin.connect()
  await work(admin)
  await admin.disconnect()
}

const create = (topic, partitions) =>
  withAdmin(async admin => {
    await admin.createTopics({ topics: [{ topic, numPartitions: Number(partitions), replicationFactor: 1 }] })
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    print({ partitions: topics[0].partitions.length })
  })

const remove = topic =>
  withAdmin(async admin => {
    await admin.deleteTopics({ topics: [topic] })
    print({ left: (await admin.listTopics()).includes(topic) })
  })

const committed = group =>
  withAdmin(async admin => {
    const { groups } = await admin.describeGroups([group])
    print({ state: groups[0].state })
    for (const { partitions } of await admin.fetchOffsets({ groupId: group })) {
      partitions.forEach(({ partition, offset }) => print({ partition, offset: Number(offset) }))
    }
  })

async function produce(topic, first, amount) {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  for (let n = Number(first); n < Number(first) + Number(amount); n++) {
    const message = { key: `key-${n}`, value: `value-${n}`, headers: { n: `${n}` } }
    const [sent] = await producer.send({ topic, acks: -1, compression: CompressionTypes.GZIP, messages: [message] })
    print({ partition: sent.partition, offset: Number(sent.baseOffset) })
  }
  await producer.disconnect()
}

async function consume(topic, groupId, amount) {
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100 })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  const next = new Map()
  let left = Number(amount)
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    const eachMessage = async ({ partition, message: { offset, key, value, headers } }) => {
      if (left-- <= 0) return
      print({ partition, offset: Number(offset), key: `${key}`, value: `${value}`, n: `${headers.n}` })
      next.set(partition, `${BigInt(offset) + 1n}`)
      if (left === 0) resolve()
    }
    consumer.run({ autoCommit: false, eachMessage }).catch(reject)
  })
  await consumer.commitOffsets([...next].map(([partition, offset]) => ({ topic, partition, offset })))
  await consumer.disconnect()
}

async function member(topic, groupId) {
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100, heartbeatInterval: 200 })
  consumer.on(consumer.events.REBALANCING, () => print({ owned: [] }))
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => print({ owned: payload.memberAssignment[topic] || [] }))
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    process.stdin.on('end', resolve).resume()
    const eachMessage = async ({ partition, message: { offset } }) => print({ partition, offset: Number(offset) })
    consumer.run({ autoCommitThreshold: 1, eachMessage }).catch(reject)
  })
  await consumer.disconnect()
}

async function withTransactions(transactionalId, transactionTimeout, work) {
  const producer = kafka.producer({ transactionalId, transactionTimeout, maxInFlightRequests: 1, idempotent: true })
  await producer.connect()
  await work(producer)
  await producer.disconnect()
}

const transact = (topic, id, first, amount, end) =>
  withTransactions(id, 60000, async producer => {
    const transaction = await producer.transaction()
    for (let n = Number(first); n < Number(first) + Number(amount); n++) {
      const message = { key: `key-${n}`, value: `value-${n}`, headers: { n: `${n}` } }
      const [sent] = await transaction.send({ topic, acks: -1, messages: [message] })
      print({ partition: sent.partition, offset: Number(sent.baseOffset) })
    }
    await (end === 'commit' ? transaction.commit() : transaction.abort())
  })

const hold = (topic, id, timeout) =>
  withTransactions(id, Number(timeout), async producer => {
    const transaction = await producer.transaction()
    const message = { key: 'held', value: 'held', partition: 0 }
    const [sent] = await transaction.send({ topic, acks: -1, messages: [message] })
    print({ partition: sent.partition, offset: Number(sent.baseOffset) })
    await new Promise(resolve => process.stdin.on('end', resolve).resume())
    const committed = await transaction.commit().then(
      () => true,
      () => false
    )
    print({ committed })
  })

const copy = (source, target, groupId, id, amount) =>
  withTransactions(id, 60000, async producer => {
    const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100, readUncommitted: false })
    await consumer.connect()
    await consumer.subscribe({ topics: [source], fromBeginning: true })
    let left = Number(amount)
    await new Promise((resolve, reject) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
      const eachBatch = async ({ batch: { partition, messages } }) => {
        if (left <= 0) return
        const copied = messages.map(({ key, value }) => ({ key, value }))
        const offset = `${BigInt(messages[messages.length - 1].offset) + 1n}`
        const topics = [{ topic: source, partitions: [{ partition, offset }] }]
        for (const end of ['abort', 'commit']) {
          const transaction = await producer.transaction()
          await transaction.send({ topic: target, acks: -1, messages: copied })
          await transaction.sendOffsets({ consumerGroupId: groupId, topics })
          await transaction[end]()
        }
        print({ copied: messages.length })
        left -= messages.length
        if (left <= 0) resolve()
      }
      consumer.run({ autoCommit: false, eachBatch }).catch(reject)
    })
    await consumer.disconnect()
  })

const commands = { create, produce, consume, member, committed, delete: remove, transact, hold, copy }

commands[command](...rest).catch(error => {
  console.error(error)
  process.exit(1)
})
