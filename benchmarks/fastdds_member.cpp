// One Fast DDS participant of a scene: endpoints from a file, discovery as Fast DDS does it, no samples.
//
// Arguments: the file (lines `W|R <tab> topic <tab> type`), and optionally `server`'s address as host:port. Says
// `ready`, waits for a line, makes everything, then prints how many matches it has whenever a line comes, until its
// input ends. UDP alone: between hosts there is no shared memory, and a plan is about hosts. A host in PEERS is put into
// the list of initial peers, and multicast is left out.
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastrtps/utils/IPLocator.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>

using namespace eprosima::fastdds::dds;
using eprosima::fastrtps::rtps::InstanceHandle_t;
using eprosima::fastrtps::rtps::SerializedPayload_t;

// A type is its name here: no sample is ever written.
class Named : public TopicDataType {
public:
    explicit Named(const std::string& name) {
        setName(name.c_str());
        m_typeSize = 8;
        m_isGetKeyDefined = false;
        auto_fill_type_information(false);
        auto_fill_type_object(false);
    }
    bool serialize(void*, SerializedPayload_t*) override { return true; }
    bool deserialize(SerializedPayload_t*, void*) override { return true; }
    std::function<uint32_t()> getSerializedSizeProvider(void*) override { return [] { return 8u; }; }
    void* createData() override { return new int64_t(0); }
    void deleteData(void* data) override { delete static_cast<int64_t*>(data); }
    bool getKey(void*, InstanceHandle_t*, bool) override { return false; }
};

std::atomic<int> matches{0};

struct Watch : public DataWriterListener, public DataReaderListener {
    void on_publication_matched(DataWriter*, const PublicationMatchedStatus& s) override {
        matches += s.current_count_change;
    }
    void on_subscription_matched(DataReader*, const SubscriptionMatchedStatus& s) override {
        matches += s.current_count_change;
    }
};

int main(int count, char** arguments) {
    if (count < 2) return 2;
    std::cout << "\"ready\"" << std::endl;
    std::string line;
    std::getline(std::cin, line);
    DomainParticipantQos qos = PARTICIPANT_QOS_DEFAULT;
    qos.transport().use_builtin_transports = false;
    qos.transport().user_transports.push_back(std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>());
    if (const char* peers = std::getenv("PEERS")) {
        auto& builtin = qos.wire_protocol().builtin;
        eprosima::fastrtps::rtps::Locator_t here, there;
        here.kind = there.kind = LOCATOR_KIND_UDPv4;
        here.port = there.port = 0;
        eprosima::fastrtps::rtps::IPLocator::setIPv4(here, "127.0.0.1");
        builtin.metatrafficUnicastLocatorList.push_back(here);
        if (*peers) {
            eprosima::fastrtps::rtps::IPLocator::setIPv4(there, peers);
            builtin.initialPeersList.push_back(there);
        }
    }
    auto* participant = DomainParticipantFactory::get_instance()->create_participant(0, qos);
    if (!participant) return 1;
    auto* publisher = participant->create_publisher(PUBLISHER_QOS_DEFAULT);
    auto* subscriber = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
    Watch watch;
    DataWriterQos writing = DATAWRITER_QOS_DEFAULT;
    writing.reliability().kind = RELIABLE_RELIABILITY_QOS;
    writing.durability().kind = VOLATILE_DURABILITY_QOS;
    DataReaderQos reading = DATAREADER_QOS_DEFAULT;
    reading.reliability().kind = RELIABLE_RELIABILITY_QOS;
    std::map<std::string, Topic*> topics;
    std::ifstream file(arguments[1]);
    while (std::getline(file, line)) {
        auto first = line.find('\t'), second = line.find('\t', first + 1);
        std::string topic = line.substr(first + 1, second - first - 1), type = line.substr(second + 1);
        if (!topics.count(topic)) {
            TypeSupport(new Named(type)).register_type(participant);
            topics[topic] = participant->create_topic(topic, type, TOPIC_QOS_DEFAULT);
        }
        if (!topics[topic]) return 1;
        if (line[0] == 'W') {
            if (!publisher->create_datawriter(topics[topic], writing, &watch)) return 1;
        } else if (!subscriber->create_datareader(topics[topic], reading, &watch)) return 1;
    }
    while (std::getline(std::cin, line)) std::cout << matches << std::endl;
    _exit(0);  // no goodbye: the window is closed
}
